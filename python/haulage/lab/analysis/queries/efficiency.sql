-- title: Share of the ceiling
-- question: How much of what this path can carry did each treatment use?
-- method: Goodput over the ceiling that the same run measured on the same path, without disks and with many connections.
-- tables: cells
with ceiling as (
    select ceiling.up_bits_per_second as up, ceiling.down_bits_per_second as down
    from read_json('manifest.json',
        columns = {ceiling: 'STRUCT(up_bits_per_second DOUBLE, down_bits_per_second DOUBLE)'})
),
found as (
    select direction, size_bytes, files, treatment, replicate, cell,
           8e9 * bytes / nullif(wall_ns, 0) as rate_bits_per_second,
           case direction when 'up' then ceiling.up else ceiling.down end as ceiling_bits_per_second
    from 'cells.parquet', ceiling
    where not warmup and outcome = 'ok' and method not in ('ceiling', 'local-disk')
)
select *, rate_bits_per_second / ceiling_bits_per_second as efficiency_share
from found
where ceiling_bits_per_second > 0
order by direction, size_bytes, files, treatment, replicate, cell
