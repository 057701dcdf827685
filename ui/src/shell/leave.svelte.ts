// A link that leaves this machine: nothing happens before somebody has seen where it leads and said yes.
class Leaving {
  url = $state("");

  ask(url: string): void {
    this.url = url;
  }
}

export const leaving = new Leaving();
