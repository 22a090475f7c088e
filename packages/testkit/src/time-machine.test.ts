import { expect, it } from 'vitest'
import { timeMachine } from './time-machine.ts'

it('fails with an error instead of hanging when time stands still', async () => {
  const { clock, move } = timeMachine(() => 0)
  const again = () => void clock.after(0, again)
  again()
  await expect(move(1)).rejects.toThrow('time stands still at 0 ms')
})
