-- title: The block size that is best on average
-- question: If one block size had to do for all files, which one?
-- method: Mean over the file sizes of the mean improvement at each, every file size counting once, as 2010 averaged. Only file sizes at which every block size of the method was run; the standard deviation is over the file sizes. Beside it the geometric mean, in which a large gain at one size does not outweigh losses at others.
-- tables: cells
-- methods: blocks, put-blocks
-- after: improvement
with
swept as (
    select *, concat_ws(' ', direction, method, concurrency) as sweep
    from improvement
    where block_size_bytes is not null and size_bytes is not null and method in ('blocks', 'put-blocks')
),
levels as (select sweep, count(distinct block_size_bytes) as levels from swept group by sweep having levels > 1),
whole as (
    select s.sweep, s.size_bytes
    from swept s join levels l using (sweep)
    group by s.sweep, s.size_bytes, l.levels
    having count(distinct s.block_size_bytes) = l.levels
)
select
    s.direction, s.method, s.concurrency, s.block_size_bytes,
    count(*) as file_sizes,
    sum(s.n)::bigint as n,
    avg(s.mean_times_as_fast) as mean_times_as_fast,
    stddev_samp(s.mean_times_as_fast) as sd_times_as_fast,
    exp(avg(ln(s.times_as_fast))) as geometric_mean_times_as_fast,
    count(*) filter (s.times_as_fast < 1) as file_sizes_slower,
    min(s.times_as_fast) as least_times_as_fast,
    avg(s.mean_times_as_fast) = max(avg(s.mean_times_as_fast)) over (partition by s.sweep) as is_best
from swept s
join whole using (sweep, size_bytes)
group by s.sweep, s.direction, s.method, s.concurrency, s.block_size_bytes
order by s.direction, s.method, s.concurrency, s.block_size_bytes
