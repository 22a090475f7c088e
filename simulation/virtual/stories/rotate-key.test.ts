import { expect, it } from 'vitest'
import { operatorOf } from '../people/operator-requests.ts'
import { CML_LOGIN, LICENSE } from '../world/planted-secrets.ts'
import { openWorld } from '../world/world.ts'

const STEPS = 24

it('a rotation of the secret key that is killed at any store call loses no secret', async () => {
  const world = await openWorld(21)
  const operator = operatorOf(world)
  const one = await operator.create('one', { license: LICENSE })
  const two = await operator.create('two')
  for (const id of [one, two]) await operator.setCredentials(id, CML_LOGIN)
  let completed = 0
  const answered = async (request: Promise<unknown>) => {
    let isOver = false
    request
      .then(
        () => {
          completed += 1
        },
        () => undefined,
      )
      .finally(() => {
        isOver = true
      })
    await world.untilTrue('a response', () => isOver)
  }

  for (let step = 0; step < STEPS; step += 1) {
    world.api.killAt(step, step % 2 === 0 ? 'before' : 'after', 1_000)
    await answered(operator.rotateKey())
    await world.api.restore()
    await world.invariants.check()
    // A new secret between a crash and the next attempt.
    await answered(operator.setCredentials(step % 2 === 0 ? one : two, CML_LOGIN))
    await world.invariants.check()
    expect(world.invariants.violations).toEqual([])
  }
  expect(world.api.kills).toBeGreaterThan(STEPS / 2)
  expect(completed).toBeGreaterThan(STEPS)
  await answered(operator.rotateKey())
  await world.close()
})
