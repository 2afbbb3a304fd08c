"""A web service that takes a turn in each request: gunicorn --preload web:app"""

import contender
import tenure

# Opened and used before the workers are forked.
with contender.locks.mutex("warm-up").lock():
    pass


def app(environ, start_response):
    try:
        with contender.mutex().lock(wait=contender.WAIT) as hold:
            contender.turn("gunicorn", hold)
    except tenure.Error as error:
        contender.failed("gunicorn", error)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]
