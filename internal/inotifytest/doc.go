// Package inotifytest reports to a test what a program does with folders, in order, through the kernel's inotify.
package inotifytest
