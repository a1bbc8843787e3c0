"""Does records one by one and saves after each hundred how far it is: whatever kills it, the next attempt
goes on there. nightshift.py of examples/clients lies beside it.
"""

import json
import os
import sys
import time

from nightshift import Attempt


def main():
    wanted = json.load(sys.stdin)
    attempt = Attempt.from_environment()
    first = attempt.load(0)
    print(f"process {os.getpid()} goes on after record {first}", flush=True)
    with open(wanted["out"], "a", buffering=1) as out:
        for record in range(first + 1, wanted["records"] + 1):
            print(record, file=out)  # the work
            if record % 100 == 0:
                time.sleep(wanted["pause"])
                attempt.save(record)
                attempt.progress(record, wanted["records"])
    attempt.complete({"records": wanted["records"], "this_time": wanted["records"] - first})


if __name__ == "__main__":
    main()
