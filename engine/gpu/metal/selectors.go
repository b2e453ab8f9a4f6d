package metal

import "slices"

// Method is a message that the driver sends.
type Method struct {
	Class    string // class or protocol of the receiver; a class method starts with +
	Selector string
	Args     int // words of a Message: an NSRange takes two, an MTLSize one
}

// method is an index into [Methods].
type method int

// Every message of the driver, in the order of Methods.
const (
	objRetain method = iota
	objRelease
	stringNew
	stringUTF8
	arrayNew
	dictionaryCount
	urlNew
	errorCode
	errorText
	deviceName
	deviceFamily
	deviceWorkingSet
	deviceMaxBuffer
	deviceQueue
	deviceEvent
	deviceFence
	deviceBuffer
	deviceBufferNoCopy
	deviceLibrary
	devicePipeline
	deviceArchive
	deviceResidency
	optionsNew
	optionsLanguage
	optionsMathMode
	optionsMathFunctions
	optionsFastMath
	libraryFunction
	functionConstants
	descriptorNew
	descriptorFunction
	descriptorWidth
	descriptorArchives
	pipelineWidth
	pipelineMaxThreads
	archiveDescriptorNew
	archiveDescriptorURL
	archiveAdd
	archiveWrite
	setDescriptorNew
	setAdd
	setRemove
	setCommit
	setRequest
	setEnd
	bufferContents
	queueCommandBuffer
	queueAddSet
	queueRemoveSet
	commandEncoder
	commandSignal
	commandCommit
	commandWait
	commandStatus
	commandError
	encodePipeline
	encodeBuffers
	encodeDispatch
	encodeBarrier
	encodeWaitFence
	encodeUpdateFence
	encodeEnd
	eventWait
	methodCount
)

// Methods lists every message that the driver sends: nothing else reaches the runtime, and what newer systems
// brought is sent only there (see system.go).
func Methods() []Method { return slices.Clone(methods[:]) }

// methods is never changed. Sources: Apple's Metal and Foundation reference.
var methods = [methodCount]Method{
	objRetain:            {"NSObject", "retain", 0},
	objRelease:           {"NSObject", "release", 0},
	stringNew:            {"+NSString", "stringWithUTF8String:", 1},
	stringUTF8:           {"NSString", "UTF8String", 0},
	arrayNew:             {"+NSArray", "arrayWithObjects:count:", 2},
	dictionaryCount:      {"NSDictionary", "count", 0},
	urlNew:               {"+NSURL", "fileURLWithPath:isDirectory:", 2},
	errorCode:            {"NSError", "code", 0},
	errorText:            {"NSError", "localizedDescription", 0},
	deviceName:           {"MTLDevice", "name", 0},
	deviceFamily:         {"MTLDevice", "supportsFamily:", 1},
	deviceWorkingSet:     {"MTLDevice", "recommendedMaxWorkingSetSize", 0},
	deviceMaxBuffer:      {"MTLDevice", "maxBufferLength", 0},
	deviceQueue:          {"MTLDevice", "newCommandQueueWithMaxCommandBufferCount:", 1},
	deviceEvent:          {"MTLDevice", "newSharedEvent", 0},
	deviceFence:          {"MTLDevice", "newFence", 0},
	deviceBuffer:         {"MTLDevice", "newBufferWithLength:options:", 2},
	deviceBufferNoCopy:   {"MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:", 4},
	deviceLibrary:        {"MTLDevice", "newLibraryWithSource:options:error:", 3},
	devicePipeline:       {"MTLDevice", "newComputePipelineStateWithDescriptor:options:reflection:error:", 4},
	deviceArchive:        {"MTLDevice", "newBinaryArchiveWithDescriptor:error:", 2},
	deviceResidency:      {"MTLDevice", "newResidencySetWithDescriptor:error:", 2}, // macOS 15
	optionsNew:           {"+MTLCompileOptions", "new", 0},
	optionsLanguage:      {"MTLCompileOptions", "setLanguageVersion:", 1},
	optionsMathMode:      {"MTLCompileOptions", "setMathMode:", 1},                   // macOS 15
	optionsMathFunctions: {"MTLCompileOptions", "setMathFloatingPointFunctions:", 1}, // macOS 15
	optionsFastMath:      {"MTLCompileOptions", "setFastMathEnabled:", 1},
	libraryFunction:      {"MTLLibrary", "newFunctionWithName:", 1},
	functionConstants:    {"MTLFunction", "functionConstantsDictionary", 0},
	descriptorNew:        {"+MTLComputePipelineDescriptor", "new", 0},
	descriptorFunction:   {"MTLComputePipelineDescriptor", "setComputeFunction:", 1},
	descriptorWidth: {
		"MTLComputePipelineDescriptor", "setThreadGroupSizeIsMultipleOfThreadExecutionWidth:", 1,
	},
	descriptorArchives:   {"MTLComputePipelineDescriptor", "setBinaryArchives:", 1},
	pipelineWidth:        {"MTLComputePipelineState", "threadExecutionWidth", 0},
	pipelineMaxThreads:   {"MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", 0},
	archiveDescriptorNew: {"+MTLBinaryArchiveDescriptor", "new", 0},
	archiveDescriptorURL: {"MTLBinaryArchiveDescriptor", "setUrl:", 1},
	archiveAdd:           {"MTLBinaryArchive", "addComputePipelineFunctionsWithDescriptor:error:", 2},
	archiveWrite:         {"MTLBinaryArchive", "serializeToURL:error:", 2},
	setDescriptorNew:     {"+MTLResidencySetDescriptor", "new", 0}, // macOS 15, as all of residency sets
	setAdd:               {"MTLResidencySet", "addAllocation:", 1},
	setRemove:            {"MTLResidencySet", "removeAllocation:", 1},
	setCommit:            {"MTLResidencySet", "commit", 0},
	setRequest:           {"MTLResidencySet", "requestResidency", 0},
	setEnd:               {"MTLResidencySet", "endResidency", 0},
	bufferContents:       {"MTLBuffer", "contents", 0},
	queueCommandBuffer:   {"MTLCommandQueue", "commandBufferWithUnretainedReferences", 0},
	queueAddSet:          {"MTLCommandQueue", "addResidencySet:", 1},
	queueRemoveSet:       {"MTLCommandQueue", "removeResidencySet:", 1},
	commandEncoder:       {"MTLCommandBuffer", "computeCommandEncoderWithDispatchType:", 1},
	commandSignal:        {"MTLCommandBuffer", "encodeSignalEvent:value:", 2},
	commandCommit:        {"MTLCommandBuffer", "commit", 0},
	commandWait:          {"MTLCommandBuffer", "waitUntilCompleted", 0},
	commandStatus:        {"MTLCommandBuffer", "status", 0},
	commandError:         {"MTLCommandBuffer", "error", 0},
	encodePipeline:       {"MTLComputeCommandEncoder", "setComputePipelineState:", 1},
	encodeBuffers:        {"MTLComputeCommandEncoder", "setBuffers:offsets:withRange:", 4},
	encodeDispatch:       {"MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:", 2},
	encodeBarrier:        {"MTLComputeCommandEncoder", "memoryBarrierWithScope:", 1},
	encodeWaitFence:      {"MTLComputeCommandEncoder", "waitForFence:", 1},
	encodeUpdateFence:    {"MTLComputeCommandEncoder", "updateFence:", 1},
	encodeEnd:            {"MTLComputeCommandEncoder", "endEncoding", 0},
	eventWait:            {"MTLSharedEvent", "waitUntilSignaledValue:timeoutMS:", 2},
}
