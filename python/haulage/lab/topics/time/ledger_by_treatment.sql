-- title: Lost-time ledger by treatment
-- question: What did each treatment spend its lanes on?
-- method: Lane time of all its cells of one size, added up; the share is of their lanes times wall time.
-- tables: cells, attempts
-- after: ledger
with added as (
    select treatment, direction, size_bytes, category,
           count(*) as cells,
           sum(spent_ns)::bigint as spent_ns,
           sum(lanes * wall_ns)::bigint as lanes_by_wall_ns,
           sum(spent_ns) / sum(lanes * wall_ns) as share
    from ledger
    group by all
)
from added
order by direction, treatment, size_bytes, list_position(['send', 'server wait', 'receive', 'commit', 'connect',
    'disk', 'hash', 'pacing', 'throttled', 'ordering', 'no work', 'idle'], category)
