import { describe, expect, it } from 'vitest'
import type { ChangeFeed, PositionedChange } from '../store.ts'
import { aThing, entry, next, type StoreFixture } from './store-fixture.ts'

export function changeCases(fixture: StoreFixture): void {
  const pending = async () =>
    (await fixture.store().announcements.pending(99)).map(({ id, version, deleted }) => [id, version, deleted])

  describe('announcements', () => {
    it('are pending from the commit until they are done', async () => {
      await fixture.things().insert(aThing('a'))
      await fixture.things().insert(aThing('b'))
      await fixture.things().replace(next(aThing('a')))
      expect((await pending()).sort()).toEqual([
        ['a', 2, false],
        ['b', 1, false],
      ])
      await fixture.store().announcements.done([{ kind: 'thing', id: 'b', version: 1, deleted: false }])
      expect(await pending()).toEqual([['a', 2, false]])
    })

    it('stay pending when the document has a newer version, and change no version', async () => {
      await fixture.things().insert(aThing('a'))
      await fixture.things().replace(next(aThing('a')))
      await fixture.store().announcements.done([{ kind: 'thing', id: 'a', version: 1, deleted: false }])
      expect(await pending()).toEqual([['a', 2, false]])
      await fixture.publishAndFlush()
      expect(await pending()).toEqual([])
      expect((await fixture.things().get('a'))?.version).toBe(2)
      expect(await fixture.things().replace(next(next(aThing('a'))))).toEqual({ ok: true })
    })

    it('publish a removal as the version after', async () => {
      await fixture.things().insert(aThing('a'))
      await fixture.things().remove(aThing('a'), [entry('gone')])
      expect(await pending()).toEqual([['a', 2, true]])
      await fixture.publishAndFlush()
      expect(await pending()).toEqual([])
    })

    it('are not made for an unpublished kind', async () => {
      await fixture.quiet().insert(aThing('a'))
      await fixture.quiet().replace(next(aThing('a')))
      await fixture.quiet().remove(next(aThing('a')))
      expect(await pending()).toEqual([])
    })

    it('wake listeners after a commit, with the change already readable', async () => {
      const seen = new Promise<unknown>(resolve => {
        const stop = fixture.store().announcements.onCommit(() => {
          stop()
          resolve(pending())
        })
      })
      await fixture.things().insert(aThing('a'))
      expect(await seen).toEqual([['a', 1, false]])
    })

    it('survive a restart', async () => {
      await fixture.things().insert(aThing('a'))
      await fixture.reopen()
      expect(await pending()).toEqual([['a', 1, false]])
    })
  })
}

/** For stores with a change feed. */
export function feedCases(fixture: StoreFixture): void {
  const feed = (): ChangeFeed => {
    const { changes } = fixture.store()
    expect(changes).not.toBeNull()
    if (changes === null) throw new Error('this store has no feed')
    return changes
  }
  const changesSince = async (position: string): Promise<readonly PositionedChange[]> => {
    const answer = await feed().since(position, 1000)
    expect(answer.known).toBe(true)
    return answer.known ? answer.changes : []
  }

  describe('change feed', () => {
    it('returns every commit once, in order, with the position to resume from', async () => {
      const start = await feed().position()
      await fixture.things().insert(aThing('a'))
      await fixture.things().insert(aThing('b'))
      await fixture.quiet().insert(aThing('q'))
      await fixture.things().replace(next(aThing('a')))
      const changes = await changesSince(start)
      expect(changes.map(({ id, version, deleted }) => [id, version, deleted])).toEqual([
        ['b', 1, false],
        ['a', 2, false],
      ])
      expect(await changesSince(changes[0]?.position ?? '')).toEqual(changes.slice(1))
      expect(await changesSince(await feed().position())).toEqual([])
      await fixture.publishAndFlush()
      expect(await changesSince(start)).toEqual(changes)
    })

    it('returns removals', async () => {
      await fixture.things().insert(aThing('a'))
      const start = await feed().position()
      await fixture.things().remove(aThing('a'))
      expect(await changesSince(start)).toMatchObject([{ kind: 'thing', id: 'a', version: 2, deleted: true }])
    })

    it('leaves out refused writes', async () => {
      await fixture.things().insert(aThing('a'))
      const start = await feed().position()
      await fixture.things().insert(aThing('a'))
      await fixture.things().replace(next(next(aThing('a'))))
      expect(await changesSince(start)).toEqual([])
    })

    it('knows only its own positions', async () => {
      for (const position of ['', 'x', '-1', '1e3', '999999999', '9'.repeat(40)])
        expect(await feed().since(position, 10), position).toEqual({ known: false })
    })

    it('returns at most as many changes as the limit', async () => {
      const start = await feed().position()
      for (const id of ['a', 'b', 'c']) await fixture.things().insert(aThing(id))
      const answer = await feed().since(start, 2)
      expect(answer.known && answer.changes.map(change => change.id)).toEqual(['a', 'b'])
    })

    it('wakes its listeners after a commit, with the change already readable', async () => {
      const start = await feed().position()
      const seen = new Promise<readonly PositionedChange[]>(resolve => {
        const stop = feed().onCommit(() => {
          stop()
          resolve(changesSince(start))
        })
      })
      await fixture.things().insert(aThing('a'))
      expect(await seen).toMatchObject([{ id: 'a' }])
    })

    it('keeps its positions over a restart', async () => {
      await fixture.things().insert(aThing('a'))
      const middle = await feed().position()
      await fixture.things().replace(next(aThing('a')))
      await fixture.reopen()
      expect(await changesSince(middle)).toMatchObject([{ id: 'a', version: 2 }])
    })
  })
}
