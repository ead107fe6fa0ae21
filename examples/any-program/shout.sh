#!/bin/sh
# A worker in one line of shell, for `ff worker --exec`: the input comes on standard input, the
# result goes to standard output, and the exit code says how it ended (75: try again later).
exec tr '[:lower:]' '[:upper:]'
