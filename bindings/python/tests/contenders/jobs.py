"""Tasks that take a turn each: celery -A jobs worker --pool prefork"""

import os

from celery import Celery

import contender
import tenure

app = Celery("jobs", broker=os.environ["DRILL_BROKER"], backend=os.environ["DRILL_BROKER"])
app.conf.worker_prefetch_multiplier = 1
# Opened and used before the pool is forked.
with contender.locks.mutex("warm-up").lock():
    pass


@app.task
def take_turn():
    try:
        with contender.mutex().lock(wait=contender.WAIT) as hold:
            contender.turn("celery", hold)
    except tenure.Error as error:
        contender.failed("celery", error)
