package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	openaioption "github.com/openai/openai-go/option"

	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
)

// listingLimit bounds the time to ask a provider for its models.
const listingLimit = 15 * time.Second

// Models implements Lister: the provider's own names, sorted.
func (p openAI) Models(ctx context.Context) ([]string, error) {
	return p.list(ctx, func(ctx context.Context, d doer, into **http.Response) error {
		client := p.client(d)
		return client.Get(ctx, "models", nil, into, openaioption.WithHeader("Accept", "application/json"))
	})
}

// Models implements Lister: the provider's own names, sorted.
func (p anthropicStyle) Models(ctx context.Context) ([]string, error) {
	return p.list(ctx, func(ctx context.Context, d doer, into **http.Response) error {
		client := p.client(d)
		return client.Get(ctx, "v1/models?limit=1000", nil, into, anthropicoption.WithHeader("Accept", "application/json"))
	})
}

// list asks for the models and reads the answer. Known shapes: {"data":[{"id"}]}, a bare list of the same, and Google's
// ids with "models/" in front. Errors as in Stream.
func (p *endpoint) list(ctx context.Context, get func(context.Context, doer, **http.Response) error) ([]string, error) {
	limited, cancel := context.WithTimeout(ctx, listingLimit)
	defer cancel()
	ids, err := p.tryList(limited, get)
	switch {
	case err == nil:
		return ids, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, p.fail("", err)
}

func (p *endpoint) tryList(ctx context.Context, get func(context.Context, doer, **http.Response) error) ([]string, error) {
	key, err := p.key(ctx, "")
	if err != nil {
		return nil, err
	}
	var res *http.Response
	if err := get(ctx, doer{p.client, key}, &res); err != nil {
		return nil, err
	}
	defer res.Body.Close()
	type entry struct {
		ID string `json:"id"`
	}
	var raw json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, maxListingBody)).Decode(&raw); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", errNoStream, err)
	}
	var list []entry
	if json.Unmarshal(raw, &list) != nil {
		var page struct {
			Data []entry `json:"data"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoStream, err)
		}
		list = page.Data
	}
	var ids []string
	for _, m := range list {
		if id := strings.TrimPrefix(m.ID, "models/"); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
