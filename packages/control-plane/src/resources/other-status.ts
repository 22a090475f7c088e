/** An answer with another good status than the route's first. */
export class OtherStatus<T> {
  readonly answer: T
  readonly status: number

  constructor(answer: T, status: number) {
    this.answer = answer
    this.status = status
  }
}

/** The route's own status for what was made now, 200 for what was there before. */
export const asMade = <T>(answer: T, isNew: boolean): T | OtherStatus<T> =>
  isNew ? answer : new OtherStatus(answer, 200)
