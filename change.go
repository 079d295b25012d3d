package svc

// Change lists the files that differ between a checkpoint of a workspace and what it is compared with.
type Change struct {
	Checkpoint int           `json:"checkpoint" doc:"Its number"`
	Since      int           `json:"since" doc:"The earlier checkpoint that it is compared with; 0: the commit that the work stands on"`
	Tree       string        `json:"tree" doc:"Of the checkpoint; empty: its host did not say"`
	Files      []ChangedFile `json:"files" nullable:"false"`
	PatchBytes int64         `json:"patch_bytes" doc:"How much GET /workspaces/{id}/diff answers"`
	Truncated  bool          `json:"truncated" doc:"The list has only the first files, or the patch lacks the content of those that are too_large"`
}

// ChangedFile is one file of a Change.
type ChangedFile struct {
	Path      string `json:"path" doc:"After the change; of a deleted file the one it had. In double quotes, with escapes as git writes them, when it has control characters, quotes, backslashes or bytes that are no UTF-8"`
	OldPath   string `json:"old_path" doc:"Before; empty: the same, or there was none"`
	Status    string `json:"status" enum:"added,modified,deleted,renamed,type_changed" doc:"type_changed: a file has become a link or a submodule, or the other way"`
	OldMode   string `json:"old_mode" doc:"As git writes it, such as 100644; empty: the same as mode, or there was no file"`
	Mode      string `json:"mode" doc:"After the change; empty: the patch does not say, or the file is gone"`
	Additions int    `json:"additions" doc:"Lines; 0 for a binary file"`
	Deletions int    `json:"deletions" doc:"Lines; 0 for a binary file"`
	Binary    bool   `json:"binary"`
	TooLarge  bool   `json:"too_large" doc:"Its part of the patch is larger than what pages show; with since, the patch does not have its content"`
}
