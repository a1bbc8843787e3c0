package runtime

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// Alert is the alert of that name as it stands.
func (r *Runtime) Alert(ctx context.Context, name string) (*jobs.Alert, error) {
	d, err := r.store.Document(ctx, store.KindAlert, name)
	if err != nil {
		return nil, fmt.Errorf("read alert %s: %w", name, err)
	}
	return alertOf(d)
}

// Alerts lists the alerts, newest first.
func (r *Runtime) Alerts(ctx context.Context, p store.Page) ([]*jobs.Alert, string, error) {
	return documentsOf(ctx, r.store, store.KindAlert, p, alertOf)
}

// DeleteAlert deletes an alert: what it has folded and not told is told no more.
func (r *Runtime) DeleteAlert(ctx context.Context, name string, ifMatch *int64, by store.By) error {
	by.Now = r.Now()
	err := r.store.DeleteDocument(ctx, store.KindAlert, name, ifMatch, by)
	r.alertsChanged()
	return r.wrote(err)
}

func alertOf(d *store.Document) (*jobs.Alert, error) {
	a, err := jobs.ParseAlertDocument(d.Name, d.Doc)
	if err != nil {
		return nil, err
	}
	a.Set, a.Revision, a.CreatedAt, a.UpdatedAt = d.Set, d.Revision, d.CreatedAt, d.UpdatedAt
	return a, nil
}
