"""A MongoDB replica set of the project's own, over the real wire protocol.

It is a test asset: it stands in for servers that tests cannot start, and clients that speak to
MongoDB can be pointed at it. It behaves as release 7.0, or as another one that is asked for. All
members are threads of this process on loopback ports.

    with (
        MongoReplicaSet(members=3) as replica_set,
        MongoClient(replica_set.connection_string) as client,
        client.shop.watch() as stream,
    ):
        client.shop.customers.insert_one({"_id": 1})
        replica_set.step_down()
        print(stream.next())

Like a real server:
    framing (OP_MSG, the first `hello` in OP_QUERY), awaitable `hello` with topology versions,
    cluster times, sessions, retryable writes that happen once; CRUD with the common operators;
    change streams at three levels with awaiting `getMore`, post-batch resume tokens, tokens in the
    server's bytes, the rules of resuming and their errors (260, 280, 286), look-ups, images,
    expanded events, `invalidate`, split fragments; `$match` behind the stream; transactions as one
    entry with one cluster time; reads at a cluster time; SCRAM-SHA-256 with rights; TLS; X.509;
    arbiters, hidden members, members that wait for `replSetInitiate`; fail points. Documents that
    are found without a sort have any order.

`MongoShardedCluster` puts a router in front of several: one stream in the order of their times,
document keys with the shard key, reads at a time over all shards, transactions over several;
MongoDB 8.0's refusal of operations that ask a shard by itself.

Faults, by methods of `MongoReplicaSet`: step-down, a killed member, dropped connections, no
primary, a secondary that lags, a stalled majority, a truncated oplog, an expired history of
snapshot reads.

Unlike one:
    members share their data, so there is no roll-back; documents do not move between shards, a
    shard key does not change, elections in a shard do not show at the router; no compression;
    one index (`_id`), others are only listed; views and time series are only listed; a
    collation only orders by `_id`; aggregation is what drivers and Debezium send, without `$out`
    and JavaScript; no tailable cursors; no prepared transactions; history is kept in memory until
    it is expired by hand.
    Messages of errors are in the server's words only where clients look at them.

`make mongo-conformance` runs the tests of MongoDB's drivers for Python and Go against it. The cases
in `tests/unit/support/mongodb/server/test_change_*` name the test of the server that states a rule.
"""

from tests.support.mongodb.server.replica_set import MongoReplicaSet
from tests.support.mongodb.server.sharded_cluster import MongoShardedCluster
from tests.support.mongodb.server.users import Privilege, User

__all__ = ["MongoReplicaSet", "MongoShardedCluster", "Privilege", "User"]
