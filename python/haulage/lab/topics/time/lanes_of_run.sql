-- title: Lanes over time
-- question: What did each slot do at each moment of the run, and when did it stand empty?
-- method: Every attempt from the moment it was granted a slot until it ended, parted by the engine's time stamps. The kernel takes what is sent before it has left, so on uploads send lasts until the answer less the quickest answer of the cell. A run of more than 100,000 attempts is made coarser: attempts shorter than resolution_ns that begin in the same part of a lane become one row with the sums of their phases; longer ones stay as they are. resolution_ns is the time in lanes over 50,000.
-- tables: cells, attempts
with stamped as (
    -- A phase that was not reached ends where the one before it ended, so that nothing counts twice.
    -- Signed, because the stamps of two threads may be some nanoseconds out of order.
    select c.cell, a.lane, a.object, a.api, a.size_bytes, a.fate, a.status,
        c.monotonic_offset_ns as offset_ns,
        a.api in ('PutBlob', 'PutBlock', 'UploadPart', 'PutObject') as upload,
        a.api in ('PutBlockList', 'CompleteMultipartUpload') as commits,
        a.first_byte_ns::bigint - a.sent_ns::bigint as answer_ns,
        a.slot_ns::bigint as slot,
        greatest(slot, coalesce(a.ready_ns::bigint, 0)) as ready,
        greatest(ready, coalesce(a.connected_ns::bigint, 0)) as connected,
        greatest(connected, coalesce(a.sent_ns::bigint, 0)) as sent,
        greatest(sent, coalesce(a.first_byte_ns::bigint, 0)) as first_byte,
        greatest(first_byte, coalesce(a.last_byte_ns::bigint, 0)) as last_byte,
        greatest(last_byte, a.ended_ns::bigint) as ended
    from 'attempts.parquet' a
    join 'cells.parquet' c using (cell)
    where a.slot_ns is not null
),
pace as (
    select cell, greatest(coalesce(min(answer_ns) filter (fate = 'ok'), 0), 0) as answer
    from stamped
    group by cell
),
resolution as (
    select case when count(*) > 100000 then (sum(ended - slot) / 50000)::bigint else 0 end as resolution_ns
    from stamped
),
zero as (select min(monotonic_offset_ns) as zero from 'cells.parquet'),
phases as (
    select cell, lane, object, api, size_bytes, fate, status, resolution_ns,
        offset_ns - zero + slot as began,
        offset_ns - zero + ended as until,
        fate = 'ok' as ok,
        case when upload then greatest(sent, first_byte - answer) else sent end as left_us,
        case when ok then ready - slot else 0 end as disk,
        case when ok then connected - ready else 0 end as connect,
        case when ok then left_us - connected else 0 end as send,
        case when ok and not commits then first_byte - left_us else 0 end as wait,
        case when ok then last_byte - first_byte else 0 end as receive,
        case when not ok then 0 when commits then first_byte - left_us + ended - last_byte else ended - last_byte end
            as commit,
        case when ok then 0 else ended - slot end as failed,
        case when until - began < resolution_ns then began // resolution_ns else -row_number() over () end as part
    from stamped join pace using (cell), resolution, zero
)
select cell, lane,
    min(began) as began_ns,
    max(until) as ended_ns,
    count(*) as attempts,
    sum(disk)::bigint as disk_ns,
    sum(connect)::bigint as connect_ns,
    sum(send)::bigint as send_ns,
    sum(wait)::bigint as wait_ns,
    sum(receive)::bigint as receive_ns,
    sum(commit)::bigint as commit_ns,
    sum(failed)::bigint as failed_ns,
    sum(size_bytes)::bigint as size_bytes,
    case when count(distinct api) = 1 then any_value(api) end as api,
    case when count(distinct object) = 1 then any_value(object) end as object,
    coalesce(max(case when ok then null else fate end), 'ok') as fate,
    max(status) as status,
    any_value(resolution_ns) as resolution_ns
from phases
group by cell, lane, part
order by cell, lane, began_ns, ended_ns
