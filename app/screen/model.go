package screen

// modelState is the model that answers.
type modelState struct {
	state   ModelState
	load    int    // number of the last [LoadModel]
	name    string // as it is shown, as far as it is known
	stage   string // of loading
	percent int
	err     string
	info    ModelInfo
}

// ofModel takes the messages about the model.
func (u *step) ofModel(m Msg) bool {
	switch m := m.(type) {
	case RetryModel:
		if u.model.state == ModelHasFailed {
			u.loadModel()
		}
	case ModelLoading:
		if m.Load == u.model.load && u.model.state == ModelIsLoading {
			u.model.name, u.model.stage = modelTitle(m.Name), m.Stage
			if m.Total > 0 {
				u.model.percent = int(100 * min(max(float64(m.Done)/float64(m.Total), 0), 1))
			}
		}
	case ModelReady:
		if m.Load == u.model.load {
			u.model.state, u.model.info, u.model.name = ModelIsReady, m.Model, modelTitle(m.Model.Name)
			u.keepFolder()
			for _, j := range u.jobs {
				u.submit(j)
			}
		}
	case ModelFailed:
		if m.Load == u.model.load {
			u.model.state, u.model.name, u.model.err = ModelHasFailed, modelTitle(m.Name), sentence(m.Err.Error())
			u.failWaiting()
		}
	case Serving:
		u.serving = m.Door
	default:
		return false
	}
	return true
}

// loadModel opens the chosen model in place of the one that is open. What runs is stopped; what waits goes on waiting.
func (u *step) loadModel() {
	for _, j := range u.jobs {
		if j.sent {
			u.stop(j)
		}
	}
	name := u.settings.wanted()
	u.model = modelState{state: ModelIsLoading, load: u.model.load + 1, name: modelTitle(name)}
	u.do(LoadModel{Name: name, Load: u.model.load})
}

// failWaiting ends what the engine was never asked for.
func (u *step) failWaiting() {
	for _, j := range u.jobs {
		if !j.sent {
			u.end(j, Failed, u.model.err)
		}
	}
}
