package nn

// RecordSpread is [Record] with scratch ranges that are never reused and lie gap bytes apart.
func RecordSpread(m Model, o Options, gap int64) (*Pass, error) { return record(m, o, gap) }
