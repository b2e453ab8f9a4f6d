package screen

// State is everything that a front end could show, of all doors. It is a value: Update returns a new one.
type State struct{}

// New is the state before anything has happened.
func New() State { return State{} }

// Update takes a message and returns what comes of it.
func Update(s State, m Msg) (State, []Effect) { return s, nil }

// Show makes the view of a state.
func Show(s State) View { return View{} }
