package host

// LinkFile takes the way to the dynamic linker where memory files are not allowed.
func LinkFile(data []byte) error {
	l, err := linkFile(data)
	if err != nil {
		return err
	}
	if _, err := l.bind(); err != nil {
		return err
	}
	return l.unlink()
}
