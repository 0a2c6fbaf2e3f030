package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // systems without a zone database still know every zone
)

// Clock tells the time, in any zone.
type Clock struct {
	now func() time.Time // nil: time.Now
}

var _ Tool = Clock{}

// Spec implements Tool.
func (Clock) Spec() Spec {
	return Spec{
		Name:        "clock",
		Description: "Tells the current date, time and weekday. Without a time zone it answers in the zone of this machine.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"timezone":{"type":"string","description":"IANA name, for example Europe/Lisbon or UTC"}},"additionalProperties":false}`),
	}
}

// Run implements Tool.
func (c Clock) Run(_ context.Context, call Call) (Result, error) {
	var in struct {
		Timezone string `json:"timezone"`
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return Result{}, fmt.Errorf("reading arguments: %w", err)
	}
	now := time.Now
	if c.now != nil {
		now = c.now
	}
	zone := time.Local
	if in.Timezone != "" {
		z, err := time.LoadLocation(in.Timezone)
		if err != nil {
			return Result{Text: fmt.Sprintf("There is no time zone %q. Use an IANA name such as Europe/Lisbon, or UTC.", in.Timezone), IsError: true}, nil
		}
		zone = z
	}
	return Result{Text: now().In(zone).Format("Monday, 2006-01-02 15:04:05 -07:00 (MST)")}, nil
}
