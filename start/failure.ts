/** Something the person at the terminal can do something about: printed as it is, without a stack. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}
