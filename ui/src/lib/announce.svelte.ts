// What screen readers are told while something goes on.
class Announcer {
  message = $state("");

  say(message: string): void {
    this.message = message;
  }
}

export const announcer = new Announcer();
