package svc

// RunPatch changes the conditions under which a pending run waits. Nil leaves a field as it is.
type RunPatch struct {
	Priority  *int
	Wait      *bool
	NotBefore **Time // pointer to nil: remove the not_before
}

// HeldUntil is the not_before of a run that a person holds: a time that never comes. A run is released by another
// not_before, or by none.
const HeldUntil Time = 253_370_764_800_000 // 9999-01-01T00:00:00.000Z

// Held reports whether notBefore is HeldUntil or later: the run waits until a person releases it.
func Held(notBefore *Time) bool { return notBefore != nil && *notBefore >= HeldUntil }

// Validate returns a validation error that names every wrong field, or nil.
func (p RunPatch) Validate() error {
	var bad Problems
	if p.Priority != nil {
		checkPriority(&bad, *p.Priority)
	}
	return bad.Err()
}

// Apply changes the conditions under which a pending run waits. It returns an error for a run that is not pending.
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
