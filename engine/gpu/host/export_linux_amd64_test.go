package host

// LinkFile is the way to the dynamic linker where memory files are not allowed.
var LinkFile = linkFile
