package command

import (
	"errors"
	"fmt"
	"strings"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
)

// report prints an error: sentences for a person, or one JSON object with --json, always on standard error.
func (c *cli) report(e *app.Error) {
	if c.json {
		c.encode(c.Err, errorAnswer(e))
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(e.Message), "\n") {
		fmt.Fprintf(c.Err, "ionclaw: %s\n", cleanText(line))
	}
	if e.Hint != "" {
		fmt.Fprintf(c.Err, "hint: %s\n", cleanText(e.Hint))
	}
}

type errorBody struct {
	Code     app.Code  `json:"code"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint"`
	Problems []problem `json:"problems,omitempty"` // of an invalid configuration
}

// problem is one place of a configuration file.
type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func errorAnswer(e *app.Error) any {
	body := errorBody{Code: e.Code, Message: e.Message, Hint: e.Hint}
	var list config.Errors
	var one *config.Error
	if errors.As(e.Err, &list) {
		for _, p := range list {
			body.Problems = append(body.Problems, problem(*p))
		}
	} else if errors.As(e.Err, &one) {
		body.Problems = []problem{problem(*one)}
	}
	return struct {
		Error errorBody `json:"error"`
	}{body}
}
