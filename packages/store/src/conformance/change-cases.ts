import { describe, expect, it } from 'vitest'
import type { ChangeFeed, PositionedChange } from '../store.ts'
import { aThing, type Bench, entry, next } from './bench.ts'

export function changeCases(bench: Bench): void {
  const pending = async () =>
    (await bench.store().announcements.pending(99)).map(({ id, version, deleted }) => [id, version, deleted])

  describe('announcements', () => {
    it('are pending from the commit until they are done', async () => {
      await bench.things().insert(aThing('a'))
      await bench.things().insert(aThing('b'))
      await bench.things().replace(next(aThing('a')))
      expect((await pending()).sort()).toEqual([
        ['a', 2, false],
        ['b', 1, false],
      ])
      await bench.store().announcements.done([{ kind: 'thing', id: 'b', version: 1, deleted: false }])
      expect(await pending()).toEqual([['a', 2, false]])
    })

    it('stay pending when the document has moved on, and bump no version', async () => {
      await bench.things().insert(aThing('a'))
      await bench.things().replace(next(aThing('a')))
      await bench.store().announcements.done([{ kind: 'thing', id: 'a', version: 1, deleted: false }])
      expect(await pending()).toEqual([['a', 2, false]])
      await bench.tidyUp()
      expect(await pending()).toEqual([])
      expect((await bench.things().get('a'))?.version).toBe(2)
      expect(await bench.things().replace(next(next(aThing('a'))))).toEqual({ ok: true })
    })

    it('tell of a removal as the version after', async () => {
      await bench.things().insert(aThing('a'))
      await bench.things().remove(aThing('a'), [entry('gone')])
      expect(await pending()).toEqual([['a', 2, true]])
      await bench.tidyUp()
      expect(await pending()).toEqual([])
    })

    it('are not made for a quiet kind', async () => {
      await bench.quiet().insert(aThing('a'))
      await bench.quiet().replace(next(aThing('a')))
      await bench.quiet().remove(next(aThing('a')))
      expect(await pending()).toEqual([])
    })

    it('wake whoever listens after a commit, with the change already readable', async () => {
      const seen = new Promise<unknown>(resolve => {
        const stop = bench.store().announcements.onCommit(() => {
          stop()
          resolve(pending())
        })
      })
      await bench.things().insert(aThing('a'))
      expect(await seen).toEqual([['a', 1, false]])
    })

    it('outlive a restart', async () => {
      await bench.things().insert(aThing('a'))
      await bench.reopen()
      expect(await pending()).toEqual([['a', 1, false]])
    })
  })
}

/** For stores that order their commits themselves. */
export function feedCases(bench: Bench): void {
  const feed = (): ChangeFeed => {
    const { changes } = bench.store()
    expect(changes).not.toBeNull()
    if (changes === null) throw new Error('this store has no feed')
    return changes
  }
  const changesSince = async (position: string): Promise<readonly PositionedChange[]> => {
    const answer = await feed().since(position, 1000)
    expect(answer.known).toBe(true)
    return answer.known ? answer.changes : []
  }

  describe('the change feed', () => {
    it('tells every commit once, in order, with where to resume', async () => {
      const start = await feed().position()
      await bench.things().insert(aThing('a'))
      await bench.things().insert(aThing('b'))
      await bench.quiet().insert(aThing('q'))
      await bench.things().replace(next(aThing('a')))
      const changes = await changesSince(start)
      expect(changes.map(({ id, version, deleted }) => [id, version, deleted])).toEqual([
        ['b', 1, false],
        ['a', 2, false],
      ])
      expect(await changesSince(changes[0]?.position ?? '')).toEqual(changes.slice(1))
      expect(await changesSince(await feed().position())).toEqual([])
      await bench.tidyUp()
      expect(await changesSince(start)).toEqual(changes)
    })

    it('tells of removals', async () => {
      await bench.things().insert(aThing('a'))
      const start = await feed().position()
      await bench.things().remove(aThing('a'))
      expect(await changesSince(start)).toMatchObject([{ kind: 'thing', id: 'a', version: 2, deleted: true }])
    })

    it('stays silent about writes that were refused', async () => {
      await bench.things().insert(aThing('a'))
      const start = await feed().position()
      await bench.things().insert(aThing('a'))
      await bench.things().replace(next(next(aThing('a'))))
      expect(await changesSince(start)).toEqual([])
    })

    it('knows its own positions only', async () => {
      for (const position of ['', 'x', '-1', '1e3', '999999999', '9'.repeat(40)])
        expect(await feed().since(position, 10), position).toEqual({ known: false })
    })

    it('reads at most as many as asked', async () => {
      const start = await feed().position()
      for (const id of ['a', 'b', 'c']) await bench.things().insert(aThing(id))
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
      await bench.things().insert(aThing('a'))
      expect(await seen).toMatchObject([{ id: 'a' }])
    })

    it('keeps its positions over a restart', async () => {
      await bench.things().insert(aThing('a'))
      const middle = await feed().position()
      await bench.things().replace(next(aThing('a')))
      await bench.reopen()
      expect(await changesSince(middle)).toMatchObject([{ id: 'a', version: 2 }])
    })
  })
}
