-- title: What failed, and what it cost
-- question: Which requests were refused or failed, how often, and how much time went with them?
-- method: Attempts by how they ended. Lost time is the time of attempts that did not end well; waited is the pause before they were sent again.
-- tables: cells, attempts
with counted as (
    select
        c.treatment, c.direction, a.api, a.fate, a.status, a.cause,
        count(*) as attempts,
        sum(a.size_bytes)::ubigint as bytes,
        sum(case when a.fate = 'ok' then 0 else a.ended_ns - coalesce(a.slot_ns, a.ended_ns) end)::ubigint as lost_ns,
        sum(coalesce(a.backoff_ns, 0))::ubigint as waited_ns
    from 'attempts.parquet' a
    join 'cells.parquet' c using (cell)
    where not c.warmup
    group by all
)
select treatment, direction, api, fate, status, cause, attempts,
       attempts / sum(attempts) over (partition by treatment, direction, api) as share,
       bytes, lost_ns, waited_ns
from counted
order by direction, treatment, api, attempts desc, fate, status, cause
