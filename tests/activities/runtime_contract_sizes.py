"""Runtime contract: an attempt goes on from what another number of ranks has saved."""

import json
import textwrap

from definitions.attempt import AttemptLaunch, AttemptRef
from tests.activities.runtime_world import World, launch_of, new_ref, python, run, text_of

# Each rank says how many they are and what it finds, and saves its part of a step.
TRAIN = textwrap.dedent("""
    import hashlib
    env, step = os.environ, int(sys.argv[1])
    size, number, token = int(env['PERDURE_WORLD_SIZE']), int(env['PERDURE_RANK']), env['PERDURE_ATTEMPT_TOKEN']
    found = env.get('PERDURE_RESUME_FROM')
    parts = [one for one in sorted(os.listdir(found)) if one.startswith('rank-')] if found else []
    saved = {one: open(found + '/' + one + '/part').read() for one in parts}
    print(json.dumps([size, env.get('PERDURE_NODES'), saved]), flush=True)
    folder = '%s/checkpoints/step-%010d.%s' % (run, step, token)
    own = folder + '/rank-%d' % number
    os.makedirs(own)
    body = b'%d of %d' % (number, size)
    open(own + '/part', 'wb').write(body)
    files = [{'path': 'rank-%d/part' % number, 'bytes': len(body), 'sha256': hashlib.sha256(body).hexdigest()}]
    manifest = {'version': 1, 'step': step, 'token': token, 'attempt': int(env['PERDURE_ATTEMPT']), 'rank': number,
                'world_size': size, 'saved_at': '2026-01-01T00:00:00Z', 'metrics': {}, 'files': files}
    json.dump(manifest, open(folder + '/manifest-%d.json' % number, 'w'))
""")


class SizesContract:
    def test_an_attempt_goes_on_from_what_another_number_of_ranks_has_saved(self, world: World) -> None:
        first, before = new_ref(), 0
        resume: str | None = None
        for number, nodes in enumerate((2, 3, 1), 1):
            launch = _attempt(first, number, nodes, resume)
            assert [rank.exit_code for rank in run(world, launch).ranks] == [0] * nodes
            told = {json.dumps(json.loads(text_of(world, launch.ref, rank)[0])) for rank in range(nodes)}
            saved = {f"rank-{rank}": f"{rank} of {before}" for rank in range(before)}
            assert told == {json.dumps([nodes, str(nodes), saved])}
            [new] = [one for one in world.runtime.collect(launch).checkpoints if one.token == launch.ref.token]
            assert (new.step, new.complete, new.files) == (number, True, 2 * nodes)  # with a manifest each
            before, resume = nodes, new.folder


def _attempt(first: AttemptRef, number: int, nodes: int, resume: str | None) -> AttemptLaunch:
    ref = first.model_copy(update={"number": number, "token": f"{number:032x}"})
    launch = launch_of(python(TRAIN, str(number)), nodes=nodes, resume_from=resume, resume_step=number - 1)
    return launch.model_copy(update={"ref": ref})
