package metal

import "testing"

// nothing is a message that is answered by its receiver.
func nothing(t testing.TB) (*plain, Message) {
	t.Helper()
	m, err := system()
	if err != nil {
		t.Fatal(err)
	}
	return m.(*runtimeMessenger).plain, Message{To: m.Class("NSObject"), Sel: m.Selector("self")}
}
