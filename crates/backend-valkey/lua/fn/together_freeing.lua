-- Several calls in one: see lib/together. For those that end work or free memory, which continue when
-- memory is full.

register('together_freeing', ff.together, {'allow-oom'})
