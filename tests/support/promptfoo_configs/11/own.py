"""Two functions in promptfoo's form."""


def short(output):
    return len(output) < 10


def get_assert(output, context):
    return context["vars"]["what"] in output
