"""From calls to training rows, two ways. A call is (prompt ids, sampled ids)."""


def starts_with(ids, beginning):
    return len(ids) >= len(beginning) and ids[:len(beginning)] == beginning


def last_of_equal_prompts(calls):
    """Agent Lightning keeps of several calls with the same prompt the last alone. Indices."""
    last = {tuple(prompt): index for index, (prompt, _) in enumerate(calls)}
    return sorted(last.values())


def of_open_row(calls):
    """Agent Lightning's trajectory level: a call goes on in the open row, the last one, if its prompt begins
    exactly with the row's tokens, else it opens another. The index of each kept call's row."""
    rows, number, open_ids = {}, -1, None
    for index in last_of_equal_prompts(calls):
        prompt, sampled = calls[index]
        if open_ids is None or not starts_with(prompt, open_ids):
            number += 1
        rows[index], open_ids = number, prompt + sampled
    return rows


def of_longest_match(calls):
    """The daemon's merging, written anew: a call goes on in the row whose tokens are the longest beginning of its
    prompt; a row takes one continuation. The index of each call's row."""
    rows, open_rows = {}, []
    for index, (prompt, sampled) in enumerate(calls):
        fitting = [row for row in range(len(open_rows)) if starts_with(prompt, open_rows[row])]
        row = max(fitting, key=lambda each: len(open_rows[each]), default=len(open_rows))
        if row == len(open_rows):
            open_rows.append(None)
        rows[index], open_rows[row] = row, prompt + sampled
    return rows
