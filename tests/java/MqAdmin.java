// Many mqadmin commands in one JVM: a line of stdin is a command with its arguments, separated by tabs; what it printed comes
// between a line "<<<" and a line ">>>".

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

public class MqAdmin {
    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        hurry();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            PrintStream captured = new PrintStream(text, true, StandardCharsets.UTF_8);
            System.setOut(captured);
            System.setErr(captured);
            try {
                MQAdminStartup.main0(line.split("\t"), null);
            } finally {
                System.setOut(out);
                System.setErr(err);
            }
            out.println("<<<");
            out.print(text.toString(StandardCharsets.UTF_8));
            out.println();
            out.println(">>>");
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    // A client's shutdown waits up to three seconds for a thread that polls a queue: wake it.
    private static void hurry() {
        Thread waker = new Thread(() -> {
            while (true) {
                for (Thread thread : Thread.getAllStackTraces().keySet()) {
                    if (thread.getName().contains("NettyEventExecutor") && thread.isAlive()) {
                        for (StackTraceElement frame : thread.getStackTrace()) {
                            if (frame.getMethodName().equals("poll")) {
                                thread.interrupt();
                                break;
                            }
                        }
                    }
                }
                try {
                    Thread.sleep(50);
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        waker.setDaemon(true);
        waker.start();
    }
}
