-- title: Files that arrived and files that were lost
-- question: Did every file arrive, and from when on did they not?
-- method: Files of each treatment by how they ended, warm-ups left out. The first lost file is counted in the order of ending; bytes that arrived before it say how far the job had come.
-- tables: cells, transfers
with
ordered as (
    select
        c.direction, c.treatment, c.replicate, t.cell, t.size_bytes, t.ended_ns,
        t.outcome not in ('ok', 'copied') as is_lost,
        row_number() over (partition by t.cell order by t.ended_ns, t.transfer) as place
    from 'transfers.parquet' t
    join 'cells.parquet' c using (cell)
    where not c.warmup and c.method <> 'ceiling'
),
first as (select cell, min(place) filter (is_lost) as first_lost from ordered group by cell)
select
    direction, treatment, replicate, cell,
    count(*) as n,
    count(*) filter (not is_lost) as arrived,
    count(*) filter (is_lost) as lost,
    any_value(first_lost) as first_lost,
    sum(size_bytes)::bigint as bytes_asked,
    coalesce(sum(size_bytes) filter (not is_lost), 0)::bigint as bytes_arrived,
    coalesce(sum(size_bytes) filter (place < first_lost), 0)::bigint as bytes_before_the_first_loss,
    max(ended_ns)::bigint as ended_ns
from ordered join first using (cell)
group by direction, treatment, replicate, cell
order by direction, treatment, replicate, cell
