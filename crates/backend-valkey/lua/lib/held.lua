-- Whether a caller plainly holds an execution: its record is there, in the caller's namespace and
-- under the whole fence, and nothing is due.

function ff.held(r, now, ns, lease, epoch, attempt)
  return r and r.ns == ns and r.state == C.ACTIVE and r.holder == lease
    and r.epoch == tonumber(epoch) and r.attempts - 1 == tonumber(attempt) and r.timer > now
end
