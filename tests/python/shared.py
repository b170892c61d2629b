"""What tests share."""
import threading


def run_in_threads(work, arguments):
    """Calls work(argument) for each argument, in a thread of its own, and waits for all."""
    threads = [threading.Thread(target=work, args=[each]) for each in arguments]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
