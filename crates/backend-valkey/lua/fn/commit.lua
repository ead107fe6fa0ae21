-- Writes what was decided: see lib/commit. For commands that may add to what is stored.

register('commit', ff.commit, {}, 3, 6, {2, 3})
