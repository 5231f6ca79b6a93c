"""`cursor.pipeline`: stages of people in the streams."""

import pytest

from mongo_agent.capture.user_stages import Order, ordered_stages
from tests.support.mongodb.running_agent import RunAgent
from tests.support.mongodb.server.client import Client

INTERNAL, OWN = {"$match": {"a": 1}}, {"$match": {"b": 1}}
PAID = r'[{"$match": {"fullDocument.status": "paid"}}]'


@pytest.mark.parametrize(
    ("order", "wanted"),
    [("internal_first", [INTERNAL, OWN]), ("user_first", [OWN, INTERNAL]), ("user_only", [OWN])],
)
def test_their_order(order: Order, wanted: list[object]) -> None:
    assert ordered_stages([INTERNAL], [OWN], order) == wanted
    assert ordered_stages([INTERNAL], [], order) == [INTERNAL]


@pytest.mark.parametrize("order", ["internal_first", "user_first", "user_only"])
def test_excluded_tables_are_not_published(writer: Client, run_agent: RunAgent, order: str) -> None:
    """The lists hold in each order, since the agent looks at each event again."""
    chosen = {
        "cursor_pipeline": PAID,
        "cursor_pipeline_order": order,
        "collection_include_list": r"shop[.]orders",
    }
    with run_agent(**chosen).streaming() as agent:
        for number, status in enumerate(("open", "paid", "open", "paid")):
            writer.shop.orders.insert_one({"_id": number, "status": status})
            writer.shop.carts.insert_one({"_id": number, "status": status})
        published = agent.wait_for(2)
    assert [(each.topic, each.id) for each in published] == [
        ("p.shop.orders", 1),
        ("p.shop.orders", 3),
    ]


def test_stages_that_write_fields(writer: Client, run_agent: RunAgent) -> None:
    """They are the server's: what they make of an event is what is published."""
    hidden = '[{"$set": {"fullDocument.card": "hidden"}}, {"$unset": "fullDocument.pin"}]'
    with run_agent(cursor_pipeline=hidden).streaming() as agent:
        writer.shop.orders.insert_one({"_id": 1, "card": "1234", "pin": 5})
        (published,) = agent.wait_for(1)
    assert published.after == {"_id": 1, "card": "hidden"}
