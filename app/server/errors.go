package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sotto/app/sched"
	"sotto/engine"
)

// problem is an error as clients see it, in the shape of OpenAI's API.
type problem struct {
	status  int
	kind    string
	code    string
	param   string // the field that is to blame, "" if none is
	message string
	retry   time.Duration // when to try again, 0 if that is unknown
}

func (p *problem) Error() string { return p.message }

// body is what is sent.
func (p *problem) body() any {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	in := inner{Message: p.message, Type: p.kind, Code: p.code}
	if p.param != "" {
		in.Param = &p.param
	}
	return struct {
		Error inner `json:"error"`
	}{in}
}

// Types of problems.
const (
	invalidRequest = "invalid_request_error"
	permission     = "permission_error"
	rateLimit      = "rate_limit_error"
	serverError    = "server_error"
)

// statusGone stands in the log for clients that went away; nobody receives it.
const statusGone = 499

// The problems that have nothing of the request in them.
var (
	errHost = &problem{
		status: http.StatusForbidden, kind: permission, code: "foreign_host",
		message: "the Host header names another machine: use localhost, 127.0.0.1 or [::1]",
	}
	errOrigin = &problem{
		status: http.StatusForbidden, kind: permission, code: "foreign_origin",
		message: "the request comes from a page of another site",
	}
	errContentType = &problem{
		status: http.StatusUnsupportedMediaType, kind: invalidRequest, code: "unsupported_content_type",
		message: "the body must be JSON in UTF-8: set the header Content-Type: application/json",
	}
	errContentEncoding = &problem{
		status: http.StatusUnsupportedMediaType, kind: invalidRequest, code: "unsupported_content_encoding",
		message: "the body is compressed: send it without Content-Encoding",
	}
	errTooSlow = &problem{
		status: http.StatusRequestTimeout, kind: invalidRequest, code: "request_timeout",
		message: "the body did not arrive in time",
	}
	errTooMany = &problem{
		status: http.StatusTooManyRequests, kind: rateLimit, code: "too_many_requests", retry: time.Second,
		message: "too many requests at a time",
	}
	errNoModel = &problem{
		status: http.StatusServiceUnavailable, kind: serverError, code: "no_model", retry: 5 * time.Second,
		message: "no model is open yet",
	}
	errEnding = &problem{
		status: http.StatusServiceUnavailable, kind: serverError, code: "shutting_down",
		message: "the server is shutting down",
	}
	errInternal = &problem{
		status: http.StatusInternalServerError, kind: serverError, code: "internal_error",
		message: "something went wrong inside the server",
	}
	errGone = &problem{status: statusGone, kind: invalidRequest, code: "client_gone", message: "the client has gone"}
)

// The problems that name a part of the request.

func errUnknownURL(method, path string) error {
	return &problem{
		status: http.StatusNotFound, kind: invalidRequest, code: "unknown_url",
		message: fmt.Sprintf("there is no %s %s here", method, path),
	}
}

func errMethod(method, path, want string) error {
	return &problem{
		status: http.StatusMethodNotAllowed, kind: invalidRequest, code: "method_not_allowed",
		message: fmt.Sprintf("%s takes %s, not %s", path, want, method),
	}
}

func errTooLarge(limit int64) error {
	return &problem{
		status: http.StatusRequestEntityTooLarge, kind: invalidRequest, code: "request_too_large",
		message: fmt.Sprintf("the body is larger than %d bytes", limit),
	}
}

func errUnknownModel(asked, open string) error {
	return &problem{
		status: http.StatusNotFound, kind: invalidRequest, code: "model_not_found", param: "model",
		message: fmt.Sprintf("model %q is not open here, %q is", asked, open),
	}
}

func errJSON(detail string) error {
	return &problem{status: http.StatusBadRequest, kind: invalidRequest, code: "invalid_json", message: detail}
}

// errField blames a field: missing, of the wrong type, out of range.
func errField(param, code, detail string) error {
	return &problem{
		status: http.StatusBadRequest, kind: invalidRequest, code: code, param: param, message: param + ": " + detail,
	}
}

// Codes of errField.
const (
	invalidType  = "invalid_type"
	invalidValue = "invalid_value"
	missing      = "missing_required_parameter"
	unsupported  = "unsupported_parameter"
)

// engineError is the code of what no request is to blame for.
const engineError = "engine_error"

// describe is the table from errors to what clients see.
func describe(err error) *problem {
	var (
		known  *problem
		full   *sched.FullError
		window *engine.WindowError
		prompt *engine.PromptError
	)
	p := &problem{status: http.StatusBadRequest, kind: invalidRequest, param: "messages", message: err.Error()}
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &full):
		p.status, p.kind, p.code, p.param = http.StatusTooManyRequests, rateLimit, "queue_full", ""
		p.retry = full.Retry
	case errors.As(err, &window):
		p.code = "context_length_exceeded"
	case errors.Is(err, engine.ErrClosed):
		return errNoModel
	case errors.As(err, &prompt):
		p.code = "invalid_messages"
	default:
		p.status, p.kind, p.code, p.param = http.StatusInternalServerError, serverError, engineError, ""
	}
	return p
}
