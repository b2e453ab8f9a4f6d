package server

import "net/http"

type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Context int    `json:"context_length"` // tokens
}

func (m *Model) card() modelInfo {
	return modelInfo{ID: m.ID, Object: "model", Created: m.Since.Unix(), OwnedBy: "sotto", Context: m.Info.Window}
}

// models answers GET /v1/models.
func (s *Server) models(c *call) error {
	list := struct {
		Object string      `json:"object"`
		Data   []modelInfo `json:"data"`
	}{"list", []modelInfo{}}
	if m := s.config.Model(); m != nil {
		list.Data = append(list.Data, m.card())
	}
	return c.reply(http.StatusOK, list)
}

// model answers GET /v1/models/NAME.
func (s *Server) model(c *call) error {
	m := s.config.Model()
	switch id := c.name; {
	case m == nil:
		return errNoModel
	case id != m.ID:
		return errUnknownModel(id, m.ID)
	}
	return c.reply(http.StatusOK, m.card())
}

// health answers GET /health: whether requests can be answered.
func (s *Server) health(c *call) error {
	if s.config.Model() == nil {
		return errNoModel
	}
	return c.reply(http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}
