package sim

// OpenThrough is Open with something between the driver and the runtime.
var OpenThrough = openThrough
