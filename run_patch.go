package svc

// RunPatch changes how a pending run waits. Nil leaves a field as it is.
type RunPatch struct {
	Priority  *int
	Wait      *bool
	NotBefore **Time // to nil: at once
}

// HeldUntil is the not_before of a run that a person holds: a time that does not come. Another one, or none, releases it.
const HeldUntil Time = 253_370_764_800_000 // 9999-01-01T00:00:00.000Z

// Held says whether a run has this not_before: it waits until somebody releases it.
func Held(notBefore *Time) bool { return notBefore != nil && *notBefore >= HeldUntil }

// Validate names every field that is wrong.
func (p RunPatch) Validate() error {
	var bad Problems
	if p.Priority != nil {
		checkPriority(&bad, *p.Priority)
	}
	return bad.Err()
}

// Apply changes how a pending run waits. It is refused for any
// other.
func (p RunPatch) Apply(r *Run) error {
	if r.Status != RunPending {
		return Errorf(CodeRunNotPending, "run %s is %s; only a run that is pending can be changed; `svc run rerun` makes another one", r.ID, r.Status).
			With("status", r.Status)
	}
	if p.Priority != nil {
		r.Priority = *p.Priority
	}
	if p.Wait != nil {
		r.Wait = *p.Wait
	}
	if p.NotBefore != nil {
		r.NotBefore = *p.NotBefore
	}
	return nil
}
