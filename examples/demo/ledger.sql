-- Splits lanes x wall of one recorded job into what each in-flight slot ("lane") was doing.
-- Parameter: $record, the Parquet file of `haul ... --record`. One row; times in nanoseconds.
with stamped as (
    -- A phase that was not reached ends where the one before it ended, so that nothing is counted twice.
    -- Signed, because the phases of two threads may be noted some nanoseconds out of order.
    select lane, object, api, size_bytes::bigint as size_bytes, connection,
        api in ('PutBlob', 'PutBlock') as upload,
        fate = 'ok' as ok,
        (first_byte_ns::bigint - sent_ns::bigint) as answer_ns,
        slot_ns::bigint as slot,
        greatest(slot, coalesce(ready_ns::bigint, 0)) as ready,
        greatest(ready, coalesce(connected_ns::bigint, 0)) as connected,
        greatest(connected, coalesce(sent_ns::bigint, 0)) as sent,
        greatest(sent, coalesce(first_byte_ns::bigint, 0)) as first_byte,
        greatest(first_byte, coalesce(last_byte_ns::bigint, 0)) as last_byte,
        greatest(last_byte, ended_ns::bigint) as ended
    from read_parquet($record)
    where slot_ns is not null
),
-- The kernel takes megabytes before the first of them has left, so `sent` lies too early on uploads.
-- The quickest answer of this run tells what waiting alone costs; what is longer was still sending.
pace as (select coalesce(greatest(min(answer_ns), 0), 0) as answer from stamped where ok),
spans as (
    select stamped.*,
        ended - slot as busy,
        case when upload then greatest(sent, first_byte - answer) else sent end as left_us
    from stamped, pace
),
job as (select max(lane)::bigint + 1 as lanes, max(ended) as wall, min(slot) as first_slot, max(slot) as last_slot from spans),
idle as (
    select sum(wall - busy) as all_idle, sum(first_slot) as start_idle,
        sum(wall - greatest(lane_end, last_slot)) as tail_idle
    from (select lane, sum(busy) as busy, max(ended) as lane_end from spans group by lane), job
),
work as (
    select
        coalesce(sum(ready - slot) filter (ok), 0) as disk,
        coalesce(sum(connected - ready) filter (ok), 0) as connect,
        coalesce(sum(left_us - connected) filter (ok), 0) as send,
        coalesce(sum(first_byte - left_us) filter (ok), 0) as wait,
        coalesce(sum(last_byte - first_byte) filter (ok), 0) as receive,
        coalesce(sum(ended - last_byte) filter (ok), 0) as finish,
        coalesce(sum(busy) filter (not ok), 0) as failed,
        coalesce(sum(size_bytes) filter (ok), 0) as payload_bytes,
        count(*) as attempts,
        count(distinct connection) filter (connection > 0) as connections,
        arg_max(object, ended) as last_object
    from spans
)
select lanes, wall as wall_ns, answer as answer_ns, payload_bytes, attempts, connections, last_object,
    last_slot as last_slot_ns,
    disk, connect, send, wait, receive, finish, failed,
    start_idle as start,
    tail_idle as tail,
    all_idle - start_idle - tail_idle as idle
from job, pace, idle, work
