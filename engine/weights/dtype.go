package weights

// Dtype is the type of a tensor's elements, spelled as in safetensors.
type Dtype string

// Dtypes that a checkpoint may hold. A pack has only U32 (codes), BF16 and F32.
const (
	Bool   Dtype = "BOOL"
	U8     Dtype = "U8"
	I8     Dtype = "I8"
	F8E4M3 Dtype = "F8_E4M3"
	F8E5M2 Dtype = "F8_E5M2"
	F8E8M0 Dtype = "F8_E8M0"
	I16    Dtype = "I16"
	U16    Dtype = "U16"
	F16    Dtype = "F16"
	BF16   Dtype = "BF16"
	I32    Dtype = "I32"
	U32    Dtype = "U32"
	F32    Dtype = "F32"
	I64    Dtype = "I64"
	U64    Dtype = "U64"
	F64    Dtype = "F64"
	C64    Dtype = "C64"
)

// Size is the number of bytes of one element, 0 for a dtype that this package does not know.
func (d Dtype) Size() int64 {
	switch d {
	case Bool, U8, I8, F8E4M3, F8E5M2, F8E8M0:
		return 1
	case I16, U16, F16, BF16:
		return 2
	case I32, U32, F32:
		return 4
	case I64, U64, F64, C64:
		return 8
	}
	return 0
}
