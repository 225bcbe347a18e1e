-- title: Rate along a job
-- question: Did the rate change while a job went on, whatever its files shared?
-- method: The bytes of each job in forty equal parts, and how long each part took; the bytes of a request are spread evenly over its time. Files that travel together have no rate of their own, a job has. Jobs of fewer than twenty requests are left out, and runs of more than sixty cells: those compare treatments, and run_order looks at them as a whole. A change of the link is smeared over at most the bytes that were in flight.
-- tables: cells, attempts
with
data as (
    select a.cell, coalesce(a.connected_ns, a.slot_ns)::bigint as began, a.ended_ns::bigint as ended, a.size_bytes::double as bytes
    from 'attempts.parquet' a
    join 'cells.parquet' c using (cell)
    where not c.warmup and c.method <> 'ceiling' and a.fate = 'ok' and a.size_bytes > 0
        and a.ended_ns > coalesce(a.connected_ns, a.slot_ns)
),
totals as (
    select cell, sum(bytes)::double as total from data
    where (select count(*) from 'cells.parquet' where not warmup) <= 60
    group by cell having count(*) >= 20
),
-- What flows at a time is the sum over the requests that are under way.
steps as (
    select cell, moment, sum(change) as change
    from (
        select cell, began::bigint as moment, bytes / (ended - began)::double as change from data
        union all
        select cell, ended::bigint as moment, -bytes / (ended - began)::double as change from data
    )
    where cell in (select cell from totals)
    group by cell, moment
),
slopes as (
    select cell, moment,
           sum(change) over (partition by cell order by moment) as slope,
           lead(moment) over (partition by cell order by moment) as next
    from steps
),
flights as (
    select cell, max(flying) as in_flight
    from (
        select cell, sum(change) over (partition by cell order by moment, change) as flying
        from (
            select cell, began as moment, bytes as change from data
            union all
            select cell, ended as moment, -bytes as change from data
        )
    )
    group by cell
),
curve as (
    select cell, moment, slope,
           coalesce(sum(slope * (next - moment)) over (
               partition by cell order by moment rows between unbounded preceding and 1 preceding), 0) as bytes
    from slopes
),
marks as (
    select cell, part, total, least(total * part / 40, total * (1 - 1e-9)) as bytes
    from totals, (select unnest(range(0, 41)) as part)
),
moments as (
    select m.cell, m.part, m.total, c.moment + greatest(0, (m.bytes - c.bytes) / nullif(c.slope, 0)) as moment
    from marks m
    asof join curve c on m.cell = c.cell and m.bytes >= c.bytes
),
parts as (
    select cell, part, total, moment, lag(moment) over (partition by cell order by part) as began from moments
),
lost as (
    select cell, count(*) as lost from 'transfers.parquet' where outcome not in ('ok', 'copied') group by cell
)
select
    c.direction, c.treatment, c.method, c.replicate, p.cell,
    c.factors->>'files' as files,
    c.factors->>'node' as node,
    c.factors->>'client_side' as client_side,
    c.factors->>'path' as path,
    p.part, p.began as began_ns, p.moment - p.began as took_ns, p.total / 40 as size_bytes,
    8e9 * p.total / 40 / (p.moment - p.began) as rate_bits_per_second,
    f.in_flight as most_in_flight_bytes,
    coalesce(l.lost, 0) as lost_in_cell
from parts p
join 'cells.parquet' c using (cell)
join flights f using (cell)
left join lost l using (cell)
where p.part > 0 and p.moment > p.began
order by c.direction, c.treatment, c.replicate, p.cell, p.part
