package main

import "svc"

// queries are the documented filters of runs and work items: each alone, the usual combinations, rare matches, first
// pages and deep pages.
var queries = []query{
	{name: "runs", runs: runFilter(nil), whole: true},
	{name: "runs, deep", runs: runFilter(nil), deep: true, whole: true},
	{name: "runs project_id", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID = l.big }), whole: true},
	{name: "runs project_id, deep", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID = l.big }), deep: true, whole: true},
	{name: "runs project_id of few", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID = l.other })},
	{name: "runs task_id", runs: runFilter(func(l *library, f *svc.RunFilter) { f.TaskID = l.busyTask }), whole: true},
	{name: "runs task_id of few", runs: runFilter(func(l *library, f *svc.RunFilter) { f.TaskID = l.quietTask })},
	{name: "runs host_id", runs: runFilter(func(l *library, f *svc.RunFilter) { f.HostID = l.busyHost }), whole: true},
	{name: "runs host_id, deep", runs: runFilter(func(l *library, f *svc.RunFilter) { f.HostID = l.busyHost }), deep: true, whole: true},
	{name: "runs host_id of few", runs: runFilter(func(l *library, f *svc.RunFilter) { f.HostID = l.quietHost })},
	{name: "runs status exited", runs: runFilter(runStatus(svc.RunExited)), whole: true},
	{name: "runs status running", runs: runFilter(runStatus(svc.RunRunning))},
	{name: "runs status failed, stopped", runs: runFilter(runStatus(svc.RunFailed, svc.RunStopped)), whole: true},
	{name: "runs every status, deep", runs: runFilter(runStatus(svc.RunStatuses...)), deep: true, whole: true},
	{name: "runs project_id, status", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID = l.big; runStatus(svc.RunRunning)(l, f) })},
	{name: "runs host_id, status", runs: runFilter(func(l *library, f *svc.RunFilter) { f.HostID = l.busyHost; runStatus(svc.RunStopped)(l, f) })},
	{name: "runs task_id, status", runs: runFilter(func(l *library, f *svc.RunFilter) { f.TaskID = l.busyTask; runStatus(svc.RunStopped)(l, f) })},
	{name: "runs project_id, host_id", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID, f.HostID = l.big, l.busyHost }), whole: true},
	{name: "runs project_id, host_id of few", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID, f.HostID = l.other, l.quietHost })},
	{name: "runs task_id, host_id of few", runs: runFilter(func(l *library, f *svc.RunFilter) { f.TaskID, f.HostID = l.busyTask, l.quietHost })},
	{name: "runs project_id, host_id, status", runs: runFilter(func(l *library, f *svc.RunFilter) {
		f.ProjectID, f.HostID = l.big, l.busyHost
		runStatus(svc.RunFailed, svc.RunStopped)(l, f)
	})},

	{name: "runs project_id, status of none", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID = l.big; runStatus(svc.RunPending)(l, f) }), none: true},
	{name: "runs host_id, status of none", runs: runFilter(func(l *library, f *svc.RunFilter) { f.HostID = l.busyHost; runStatus(svc.RunSpawning)(l, f) }), none: true},

	{name: "items", items: itemFilter(nil), whole: true},
	{name: "items, deep", items: itemFilter(nil), deep: true, whole: true},
	{name: "items project_id", items: inBig(nil), whole: true},
	{name: "items project_id, deep", items: inBig(nil), deep: true, whole: true},
	{name: "items project_id of few", items: itemFilter(func(l *library, f *svc.WorkItemFilter) { f.ProjectID = l.other })},
	{name: "items status", items: itemFilter(itemStatus(svc.ItemDone)), whole: true},
	{name: "items status of few", items: itemFilter(itemStatus(svc.ItemCancelled))},
	{name: "items two statuses", items: itemFilter(itemStatus(svc.ItemDoing, svc.ItemDone)), whole: true},
	{name: "items kind", items: itemFilter(itemKind(svc.KindTask)), whole: true},
	{name: "items kind of few", items: itemFilter(itemKind(svc.KindMilestone))},
	{name: "items of no such kind", items: itemFilter(itemKind("none")), none: true},
	{name: "items project_id, no such kind", items: inBig(itemKind("none")), none: true},
	{name: "items under a large tree, no such kind", items: itemFilter(both(itemKind("none"), func(l *library, f *svc.WorkItemFilter) { f.Under = l.bigTree })), none: true},
	{name: "runs of no such status", runs: runFilter(runStatus("none")), none: true},
	{name: "runs project_id, no such status", runs: runFilter(func(l *library, f *svc.RunFilter) { f.ProjectID = l.big; runStatus("none")(l, f) }), none: true},
	{name: "items two kinds", items: itemFilter(itemKind(svc.KindEpic, svc.KindSubtask)), whole: true},
	{name: "items status, kind", items: itemFilter(both(itemStatus(svc.ItemDone), itemKind(svc.KindTask))), whole: true},
	{name: "items status, kind of few", items: itemFilter(both(itemStatus(svc.ItemDoing), itemKind(svc.KindMilestone)))},
	{name: "items project_id, status", items: inBig(itemStatus(svc.ItemDoing)), whole: true},
	{name: "items project_id, kind", items: inBig(itemKind(svc.KindEpic))},
	{name: "items project_id, kind, status", items: inBig(both(itemStatus(svc.ItemDone), itemKind(svc.KindTask))), whole: true},
	{name: "items project_id, kind, status of few", items: inBig(both(itemStatus(svc.ItemDoing), itemKind(svc.KindMilestone)))},
	{name: "items parent_id", items: itemFilter(func(l *library, f *svc.WorkItemFilter) { f.Parent = &svc.ParentChange{ID: &l.wideParent} }), whole: true},
	{name: "items parent_id, status", items: itemFilter(both(itemStatus(svc.ItemDoing), func(l *library, f *svc.WorkItemFilter) {
		f.Parent = &svc.ParentChange{ID: &l.bigTree}
	}))},
	{name: "items parent_id, kind", items: itemFilter(both(itemKind(svc.KindMilestone), func(l *library, f *svc.WorkItemFilter) {
		f.Parent = &svc.ParentChange{ID: &l.bigTree}
	}))},
	{name: "items parent_id null", items: itemFilter(func(_ *library, f *svc.WorkItemFilter) { f.Parent = &svc.ParentChange{} }), whole: true},
	{name: "items project_id, parent_id null", items: inBig(func(_ *library, f *svc.WorkItemFilter) { f.Parent = &svc.ParentChange{} }), whole: true},
	{name: "items under a small tree", items: under(func(l *library) string { return l.smallTree }), whole: true},
	{name: "items under a large tree", items: under(func(l *library) string { return l.bigTree }), whole: true},
	{name: "items under a large tree, deep", items: under(func(l *library) string { return l.bigTree }), deep: true, whole: true},
	{name: "items under a large tree at the end", items: under(func(l *library) string { return l.lateTree }), whole: true},
	{name: "items under a large tree, status", items: itemFilter(both(itemStatus(svc.ItemDoing), func(l *library, f *svc.WorkItemFilter) { f.Under = l.bigTree }))},
	{name: "items project_id, under, kind", items: inBig(both(itemKind(svc.KindTask), func(l *library, f *svc.WorkItemFilter) { f.Under = l.bigTree })), whole: true},
}

func runFilter(set func(*library, *svc.RunFilter)) func(*library) svc.RunFilter {
	return func(l *library) (f svc.RunFilter) {
		if set != nil {
			set(l, &f)
		}
		return f
	}
}

func runStatus(s ...svc.RunStatus) func(*library, *svc.RunFilter) {
	return func(_ *library, f *svc.RunFilter) { f.Statuses = s }
}

func itemFilter(set func(*library, *svc.WorkItemFilter)) func(*library) svc.WorkItemFilter {
	return func(l *library) (f svc.WorkItemFilter) {
		if set != nil {
			set(l, &f)
		}
		return f
	}
}

func inBig(set func(*library, *svc.WorkItemFilter)) func(*library) svc.WorkItemFilter {
	return func(l *library) svc.WorkItemFilter {
		f := itemFilter(set)(l)
		f.ProjectID = l.big
		return f
	}
}

func under(root func(*library) string) func(*library) svc.WorkItemFilter {
	return func(l *library) svc.WorkItemFilter { return svc.WorkItemFilter{Under: root(l)} }
}

func itemStatus(s ...svc.ItemStatus) func(*library, *svc.WorkItemFilter) {
	return func(_ *library, f *svc.WorkItemFilter) { f.Statuses = s }
}

func itemKind(k ...svc.Kind) func(*library, *svc.WorkItemFilter) {
	return func(_ *library, f *svc.WorkItemFilter) { f.Kinds = k }
}

func both(a, b func(*library, *svc.WorkItemFilter)) func(*library, *svc.WorkItemFilter) {
	return func(l *library, f *svc.WorkItemFilter) {
		a(l, f)
		b(l, f)
	}
}
