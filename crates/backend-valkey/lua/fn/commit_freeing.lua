-- Writes what was decided: see lib/commit. For commands that end work or free memory, which are accepted
-- when memory is full.

register('commit_freeing', ff.commit, {'allow-oom'}, 1, 1)
