-- Writes what was decided: see lib/commit. For commands that may add to the stored data.

register('commit', ff.commit, {}, 1, 1)
