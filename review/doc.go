// Package review reads the patches that git wrote of checkpoints. It lists which files a change has, how two
// checkpoints differ, and where lines of one checkpoint are in a later one. It needs neither git nor the repository:
// two patches on top of the same commit contain every difference between their results, because a file that neither
// of them touches is the same in both. It also composes the prompt that sends review comments to an agent. The
// package is pure: patches are passed in as readers.
package review
